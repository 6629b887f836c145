"""The bank pipeline: its transactions, how they post, and the assets that post them."""
