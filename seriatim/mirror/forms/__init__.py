"""Says in Iceberg's terms what a Delta log says: schemas, partitions, bounds, data files. Reads and writes nothing."""
