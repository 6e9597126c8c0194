"""Documents that several suites share."""
