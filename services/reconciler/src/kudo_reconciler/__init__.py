"""The reconciler: runs the plans of Instances and reports their results."""
