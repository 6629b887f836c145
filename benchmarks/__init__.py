"""What the library costs, measured where it runs: each figure in a process of its own, start included."""
