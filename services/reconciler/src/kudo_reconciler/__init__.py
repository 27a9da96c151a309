"""The reconciler: runs the plans of Instances and reports what became of them."""
