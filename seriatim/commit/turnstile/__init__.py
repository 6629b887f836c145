"""Who writes one table goes one after another, as far as that can be had: it saves attempts, and nothing depends on it."""
