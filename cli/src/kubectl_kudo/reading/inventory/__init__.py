"""What an Instance owns: reads its Inventories, and the objects that they name."""
