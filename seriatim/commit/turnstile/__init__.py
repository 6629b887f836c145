"""Those who write one table go one after another, as far as can be: it saves attempts, and nothing depends on it."""
