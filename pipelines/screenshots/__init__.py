"""The pictures of the documents: a small bank in the Dagster UI, as a browser shows it."""
