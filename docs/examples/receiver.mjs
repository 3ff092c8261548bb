// Receives the webhooks of the service (docs/api.md#receive-a-webhook). Setup: npm install standardwebhooks.
// Run: WEBHOOK_SECRETS="whsec_…" WEBHOOK_TOKENS="…" node receiver.mjs. Both variables can contain several values.
// A webhook with a signing secret of its own has no token: run it without WEBHOOK_TOKENS. Only such a secret signs a
// body of webhook_request. The signature is the proof of origin: every receiver of the account gets the token.
import { timingSafeEqual } from 'node:crypto';
import { createServer } from 'node:http';
import { Webhook } from 'standardwebhooks';

const MAX_BODY_BYTES = 1024 * 1024;

const values = (text = '') => text.split(' ').filter(Boolean);
const webhooks = values(process.env.WEBHOOK_SECRETS).map((secret) => new Webhook(secret));
const tokens = values(process.env.WEBHOOK_TOKENS).map((token) => Buffer.from(token));

const hasToken = ({ headers }) => {
  const received = Buffer.from(headers['x-monitoring-webhook-token'] ?? '');
  return (
    tokens.length === 0 || tokens.some((token) => token.length === received.length && timingSafeEqual(token, received))
  );
};

const isSigned = (body, { headers }) =>
  webhooks.some((webhook) => {
    try {
      webhook.verify(body, headers);
      return true;
    } catch {
      return false; // another secret, a changed body, or an old timestamp
    }
  });

/** Returns the body exactly as it was sent, or undefined if it is too large. */
const readBody = async (request) => {
  const chunks = [];
  let bytes = 0;
  for await (const chunk of request) {
    bytes += chunk.length;
    if (bytes <= MAX_BODY_BYTES) chunks.push(chunk);
  }
  return bytes > MAX_BODY_BYTES ? undefined : Buffer.concat(chunks).toString('utf8');
};

const alerts = new Map();

/** Stores an alert, and returns false if it is already stored. */
const store = (id, alert) => {
  if (alerts.has(id)) return false;
  alerts.set(id, alert);
  return true;
};

const newestTimes = new Map();

/** Returns whether a newer event of the alarm was received. An alert without a time is not compared. */
const isOutdated = (alert) => {
  const key = JSON.stringify([alert?.entity?.id, alert?.alarm?.id]);
  const time = Number(alert?.details?.timestamp);
  if (time < newestTimes.get(key)) return true;
  if (time > 0) newestTimes.set(key, time);
  return false;
};

// A custom body has the form that you gave it.
const processAlert = (alert) => console.log(isOutdated(alert) ? 'outdated' : alert?.details?.state, alert?.event_id);

const receive = async (request) => {
  const body = await readBody(request);
  if (body === undefined) return 413;
  if (!isSigned(body, request) || !hasToken(request)) return 401;
  const alert = JSON.parse(body);
  if (store(request.headers['webhook-id'], alert)) setImmediate(processAlert, alert);
  return 204;
};

const server = createServer((request, response) => {
  receive(request).then(
    (status) => response.writeHead(status).end(),
    () => response.writeHead(500).end(), // the service sends the alert again
  );
});
server.listen(Number(process.env.PORT ?? 8080), () => console.log(`Listening on port ${server.address().port}`));
