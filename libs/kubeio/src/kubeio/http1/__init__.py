"""An HTTP/1.1 client for plain requests to one server, over keep-alive connections.

    session.Session -> pool.Pool -> connection.Connection -> parser.ResponseParser (httptools)

It follows no redirects, keeps no cookies, uses no proxies and upgrades no connections; see
`kubeio.connection.aiohttp_session` for the last two.
"""
