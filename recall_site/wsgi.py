"""The WSGI application, for any server."""

from django.core.wsgi import get_wsgi_application

from recall_site import start

start.ensure_secret_key()
start.ensure_database()
application = get_wsgi_application()
