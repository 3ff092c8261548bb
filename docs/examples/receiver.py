# Receives the webhooks of the service (docs/api.md#receive-a-webhook). Setup: pip install standardwebhooks.
# Run: WEBHOOK_SECRETS="whsec_…" WEBHOOK_TOKENS="…" python3 receiver.py. Both variables can contain several values.
# A webhook with a signing secret of its own has no token: run it without WEBHOOK_TOKENS. Only such a secret signs a
# body of webhook_request. The signature is the proof of origin: every receiver of the account gets the token.
import hmac
import json
import os
import queue
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from standardwebhooks.webhooks import Webhook, WebhookVerificationError

MAX_BODY_BYTES = 1024 * 1024

webhooks = [Webhook(secret) for secret in os.environ.get("WEBHOOK_SECRETS", "").split()]
tokens = [token.encode() for token in os.environ.get("WEBHOOK_TOKENS", "").split()]


def has_token(headers):
    received = headers.get("x-monitoring-webhook-token", "").encode()
    return not tokens or any(hmac.compare_digest(token, received) for token in tokens)


def is_signed(body, headers):
    for webhook in webhooks:
        try:
            webhook.verify(body, dict(headers.items()))
            return True
        except (WebhookVerificationError, ValueError):
            pass  # another secret, a changed body, an old timestamp, or a malformed header
    return False


alerts = {}
alerts_lock = threading.Lock()
unprocessed = queue.Queue()


def store(alert_id, alert):
    """Stores an alert, and returns False if it is already stored."""
    with alerts_lock:
        if alert_id in alerts:
            return False
        alerts[alert_id] = alert
        return True


newest_times = {}


def is_outdated(alert):
    """Returns whether a newer event of the alarm was received. An alert without a time is not compared."""
    key = (alert["entity"]["id"], alert["alarm"]["id"])
    time = alert["details"].get("timestamp")
    if not isinstance(time, (int, float)):
        return False
    newest_times[key] = max(time, newest_times.get(key, time))
    return time < newest_times[key]


def process_alerts():
    while True:
        alert = unprocessed.get()
        try:
            state = "outdated" if is_outdated(alert) else alert["details"]["state"]
            print(state, alert["event_id"], flush=True)
        except (KeyError, TypeError):
            print("an alert with a custom body", flush=True)


class Receiver(BaseHTTPRequestHandler):
    timeout = 15  # seconds

    def do_POST(self):
        self.send_response(self.receive())
        self.send_header("content-length", "0")
        self.end_headers()

    def receive(self):
        length = self.headers.get("content-length", "")
        if not length.isdecimal():
            return 411
        if int(length) > MAX_BODY_BYTES:
            return 413
        body = self.rfile.read(int(length))  # exactly as it was sent
        if not is_signed(body, self.headers) or not has_token(self.headers):
            return 401
        alert = json.loads(body)
        if store(self.headers["webhook-id"], alert):
            unprocessed.put(alert)
        return 204


if __name__ == "__main__":
    threading.Thread(target=process_alerts, daemon=True).start()
    server = ThreadingHTTPServer(("", int(os.environ.get("PORT", "8080"))), Receiver)
    print(f"Listening on port {server.server_address[1]}", flush=True)
    server.serve_forever()
