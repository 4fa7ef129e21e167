"""The project around the apps: settings, URLs, access, tenancy, the web layer, the database
server and the supervisor.

platform, postgres, database, access and web lie below the apps and import none of them. settings,
urls, asgi, checks, service and management lie above and may import everything.
"""

import os

# Must be set before numpy is loaded. With matrices as small as a search's, its threads only wait
# for each other, on a busy machine for hundreds of milliseconds.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
