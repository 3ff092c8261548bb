import type { SentRequest } from '../../contracts/responses/notifications.ts';
import { withoutSecrets } from '../../domain/response-text.ts';
import { secretsIn, type TypeRequest } from './http-transport.ts';

/** How much of the body is shown, in bytes. */
const MAX_BODY_BYTES = 4 * 1024;

type ShownRequest = Pick<TypeRequest, 'url' | 'headers' | 'body'>;

const namesOf = ({ headers, url }: ShownRequest): string[] => {
  const names = Object.keys(headers);
  const isAuthorized = names.some((name) => name.toLowerCase() === 'authorization');
  // The HTTP client adds it.
  return url.username + url.password === '' || isAuthorized ? names : [...names, 'authorization'];
};

/**
 * What a test shows of its request: neither values of headers, nor user, password and query of the URL, nor a body that
 * repeats them, nor one whose search takes too long (docs/decisions/api.md#test-operations).
 */
export const sentRequest = (request: ShownRequest): SentRequest => {
  const { url, body } = request;
  const shown = withoutSecrets(body, [...secretsIn(url, false), url.search]);
  return {
    method: 'POST',
    url: url.origin + url.pathname,
    headers: namesOf(request),
    ...(shown !== undefined && {
      // As a stream, the decoder omits a character that is cut.
      body: new TextDecoder().decode(Buffer.from(shown).subarray(0, MAX_BODY_BYTES), { stream: true }),
    }),
  };
};
