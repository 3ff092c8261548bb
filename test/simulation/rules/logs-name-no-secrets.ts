import type { Rule } from './rule.ts';

/** Addresses, phone numbers, URLs and keys of destinations, as `detailsOf` creates them, tokens, secrets and opt-out links. */
const SECRETS = [
  /@people\.test/,
  /\+1202555/,
  /receivers\.test/,
  /\bkeyd\d/,
  /00000000-0000-4000/,
  /mnt_/,
  /whsec_/,
  /link=/,
];

/** No log line contains a recipient or credentials. */
export const logsNameNoSecrets: Rule = {
  name: 'logs name no secrets',
  violations({ logs, credentials }) {
    const tokens = [...credentials.values()].map(({ webhook_token }) => webhook_token);
    return logs
      .filter((line) => SECRETS.some((pattern) => pattern.test(line)) || tokens.some((token) => line.includes(token)))
      .map((line) => `A log line has a secret: ${line.slice(0, 300)}`);
  },
};
