import { useState } from 'preact/hooks';
import { type WebhookAddress, type WebhookResponse, webhookResponses } from '../message.ts';

const responseNames: Record<WebhookResponse, string> = {
  '200': '200 OK',
  '410': '410 Gone',
  '500': '500 Error',
  slow: 'Slow (20 s)',
};

/** Selects how a webhook address responds from now on. */
export const ResponseSelect = ({ address, label }: { address: WebhookAddress; label: string }) => {
  const [error, setError] = useState<string>();
  const change = async (respond: string) => {
    const path = `/webhooks/${encodeURIComponent(address.tenant)}`;
    const response = await fetch(path, { method: 'PUT', body: JSON.stringify({ respond }) }).catch(() => undefined);
    setError(response?.ok ? undefined : 'The response could not be changed.');
  };
  return (
    <label class="bar">
      <span>{label}</span>
      <select
        value={address.respond}
        aria-label={`${label} of ${address.tenant}`}
        onChange={({ currentTarget }) => change(currentTarget.value)}
      >
        {webhookResponses.map((response) => (
          <option key={response} value={response}>
            {responseNames[response]}
          </option>
        ))}
      </select>
      <span role="alert">{error}</span>
    </label>
  );
};
