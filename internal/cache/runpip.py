"""Runs pip with the arguments given here. Of the user's settings those alone count that say how packages are reached: others
(user, target, root, require-virtualenv, dry-run, constraint, …) would change what is installed, or where."""

import ast
import os
import re
import runpy
import subprocess
import sys

REACHING = {
    "PIP_" + name
    for name in """INDEX_URL EXTRA_INDEX_URL FIND_LINKS NO_INDEX TRUSTED_HOST PROXY NO_PROXY_ENV CERT CLIENT_CERT KEYRING_PROVIDER
    TIMEOUT DEFAULT_TIMEOUT RETRIES RESUME_RETRIES USE_FEATURE USE_DEPRECATED""".split()
}
RUN = f"import runpy, sys; sys.path[:] = {sys.path!r}; runpy.run_module('pip', run_name='__main__', alter_sys=True)"

# The settings apply to the listing, too: --user, --global or --site would be those of one file alone.
plain = dict(os.environ, PIP_USER="0", PIP_GLOBAL="0", PIP_SITE="0", PIP_QUIET="0", PIP_VERBOSE="0", PIP_REQUIRE_VIRTUALENV="0")
listing = subprocess.run([sys.executable, "-E", "-c", RUN, "config", "list"], env=plain, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
settings = {}
for section in "global", "install":  # which takes precedence
    for name, value in re.findall("(?m)^" + section + r"\.([\w-]+)=(.*)$", listing.stdout.decode(errors="replace")):
        settings["PIP_" + name.upper().replace("-", "_")] = ast.literal_eval(value)
given = {name: os.environ.pop(name) for name in list(os.environ) if name.startswith("PIP_")}
settings.update({name: value for name, value in given.items() if value})
os.environ.update({name: settings[name] for name in REACHING if name in settings}, PIP_CONFIG_FILE=os.devnull)
runpy.run_module("pip", run_name="__main__", alter_sys=True)
