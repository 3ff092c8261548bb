import { type ChangeContext, MAX_AUDIT_TEXT_LENGTH } from '../contracts/audit.ts';
import { replaceControls } from '../contracts/text.ts';
import type { Caller } from '../domain/authorization.ts';
import { type ApiRequest, query } from './request.ts';

/** Returns a text of the client for an audit entry: bounded, without control characters; undefined if it is empty. */
const auditText = (text: string | null): string | undefined =>
  [...replaceControls(text ?? '')].slice(0, MAX_AUDIT_TEXT_LENGTH).join('') || undefined;

/** Returns the context of what a request changes. */
export const changeContext = (request: ApiRequest, { token: { id, label } }: Caller): ChangeContext => {
  const parameters = query(request);
  const { requestId, http } = request.requestContext;
  return {
    actor: { type: 'token', id, label },
    request_id: requestId,
    ip_address: http.sourceIp,
    who: auditText(parameters.get('_who')),
    why: auditText(parameters.get('_why')),
  };
};
