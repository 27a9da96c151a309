"""The accounts that Instances act as: the rights that they need, and the objects that give them."""
