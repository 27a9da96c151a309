"""HTTP/1.1 to one server over aiohttp, which the session keeps from what we do not want of it.

    session.Session -> aiohttp.ClientSession -> connector.Connector -> connector.Connection

Importing aiohttp takes longer than all else that a command does: only `connector`, `response`
and `session` import it, and `kubeio.connection.transport` imports those when it is opened.
"""
