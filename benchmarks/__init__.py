"""What the library costs where it runs, beside its peers and a floor; `python3 run.py bench`, docs/performance.md."""
