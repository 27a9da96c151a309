"""Downloads of indexes and packages; aiohttp is imported only for a server."""
