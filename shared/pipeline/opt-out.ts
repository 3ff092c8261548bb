import { createHash } from 'node:crypto';
import type { APIGatewayProxyEventV2, APIGatewayProxyStructuredResultV2 } from 'aws-lambda';
import { escape as escapeHtml } from 'html-escaper';
import type { EmailStops } from '../adapters/accounts/email-stops.ts';
import type { OptOutKeys } from '../adapters/accounts/opt-out-keys.ts';
import type { AuditLog } from '../adapters/audits/audit-log.ts';
import { errorTrace, logger } from '../adapters/logger.ts';
import { type EmailStop, isOptOutQuery, parseOptOutQuery, type Recipient } from '../domain/email-stop.ts';
import { type Clock, secondsToNextDay, utcTime } from '../domain/time.ts';
import type { ReportStop } from './report-messages.ts';

/** What the buttons of the page send. That which stops emails is what mail services send (RFC 8058, section 3.1). */
export const buttonFields = {
  stop: { name: 'List-Unsubscribe', value: 'One-Click' },
  resume: { name: 'Resume', value: 'Confirm' },
} as const;

/** A body with one field, as a form or multipart, is shorter. */
const MAX_BODY_LENGTH = 4_096;

/** Returns the fields of a body as `multipart/form-data` (RFC 7578), whose first line is a boundary. */
const multipartFields = (text: string): [name: string, value: string][] => {
  const [boundary = ''] = text.split(/\r?\n/, 1);
  return text.split(boundary).flatMap((part): [string, string][] => {
    const lines = part.split(/\r?\n/);
    const end = lines.indexOf('', 1);
    const disposition = lines.slice(0, end).find((line) => /^content-disposition:/i.test(line)) ?? '';
    const [, name] = /; ?name="?([\w-]{1,64})/i.exec(disposition) ?? [];
    return name === undefined || end < 0 ? [] : [[name, lines.slice(end + 1, -1).join('\n')]];
  });
};

/** Returns what the body of a request changes, or undefined. A body with both fields stops the emails. */
const requestedChange = (body: string, isBase64Encoded: boolean): 'stop' | 'resume' | undefined => {
  if (body.length > MAX_BODY_LENGTH) return undefined;
  const text = isBase64Encoded ? Buffer.from(body, 'base64').toString() : body;
  const fields = text.startsWith('--') ? multipartFields(text) : [...new URLSearchParams(text)];
  return (['stop', 'resume'] as const).find((change) => {
    const { name, value } = buttonFields[change];
    return fields.some((field) => field[0] === name && field[1] === value);
  });
};

export type PageResponse = APIGatewayProxyStructuredResultV2;

const STYLE = [
  ':root{color-scheme:light dark;font:18px/1.5 system-ui,sans-serif}',
  'body{margin:0}',
  'main{max-width:32rem;margin:0 auto;padding:24px 16px;overflow-wrap:anywhere}',
  'h1{font-size:24px;line-height:1.25}',
  'button{min-height:48px;padding:8px 24px;border:0;border-radius:4px;background:#1f5fbf;color:#fff;font:inherit}',
].join('');

/** No script, no other origin, no frame; search engines, caches and other sites do not learn the link. */
const headers = {
  'content-type': 'text/html; charset=utf-8',
  'content-security-policy': [
    "default-src 'none'",
    `style-src 'sha256-${createHash('sha256').update(STYLE).digest('base64')}'`,
    "form-action 'self'",
    "frame-ancestors 'none'",
    "base-uri 'none'",
  ].join('; '),
  'cache-control': 'no-store',
  'referrer-policy': 'no-referrer',
  'strict-transport-security': 'max-age=31536000',
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  'x-robots-tag': 'noindex, nofollow',
};

type Button = { name: string; value: string; text: string };

const page = (statusCode: number, heading: string, text: string, button?: Button): PageResponse => ({
  statusCode,
  headers,
  body: [
    '<!doctype html><html lang="en"><head><meta charset="utf-8">',
    '<meta name="viewport" content="width=device-width,initial-scale=1">',
    `<title>${heading}</title><style>${STYLE}</style></head>`,
    `<body><main><h1>${heading}</h1><p>${escapeHtml(text)}</p>`,
    // Without an action, a form is sent to the URL of its page.
    ...(button
      ? [`<form method="post"><button name="${button.name}" value="${button.value}">${button.text}</button></form>`]
      : []),
    '</main></body></html>',
  ].join('\n'),
});

const stopButton = { ...buttonFields.stop, text: 'Stop these emails' };
const resumeButton = { ...buttonFields.resume, text: 'Resume these emails' };

/** The state of a recipient's emails, and the button that changes it. 400: a request had the body of neither button. */
export const statePage = (statusCode: 200 | 400, tenant: string, stop: EmailStop | undefined): PageResponse => {
  if (!stop) {
    const text = `The account ${tenant} can send emails to this address.`;
    return page(statusCode, 'Emails are not stopped', text, stopButton);
  }
  if (stop.untilMs === undefined) {
    const text = `The account ${tenant} sends no emails to this address.`;
    return page(statusCode, 'Emails are stopped', text, resumeButton);
  }
  const text = `An email of the account ${tenant} bounced: none is sent to this address until ${utcTime(stop.untilMs)}.`;
  return page(statusCode, 'An email bounced', text, stopButton);
};

/** The recipient has resumed the emails too often today. @param retryAfterSeconds until the next UTC day */
export const limitPage = (tenant: string, retryAfterSeconds: number): PageResponse => {
  const text = `The emails of the account ${tenant} were resumed too often today. Open the link again tomorrow.`;
  const limited = page(429, 'Emails are stopped', text);
  return { ...limited, headers: { ...limited.headers, 'retry-after': String(retryAfterSeconds) } };
};

/** The same for every link that is not valid, whatever exists. */
export const invalidPage: PageResponse = page(
  404,
  'This link is not valid',
  'Open the complete link of a newer email.',
);

/** A dependency failed, so that nothing may have changed. */
export const unavailablePage: PageResponse = page(
  503,
  'Please try again',
  'The service is busy. Open the link again later.',
);

type OptOutDependencies = {
  optOutKeys: Pick<OptOutKeys, 'find'>;
  stops: Pick<EmailStops, 'find' | 'optOut' | 'resume'>;
  audits: Pick<AuditLog, 'by'>;
  reportStop: ReportStop;
  clock?: Clock;
};

/** The page of docs/decisions/opt-out.md. GET has no effect: mail services open links before recipients do. */
export const createOptOutHandler = ({
  optOutKeys,
  stops,
  audits,
  reportStop,
  clock = Date.now,
}: OptOutDependencies) => {
  /** Neither the address of the client nor that of the recipient becomes known to the tenant. */
  const auditOf = ({ tenant }: Recipient, requestId: string) =>
    audits.by({ tenant, context: { actor: { type: 'recipient' }, request_id: requestId } });

  /** Reports a stop. If that fails, the next email to the mailbox reports it: stopping is never refused. */
  const report = async (recipient: Recipient, stop: EmailStop): Promise<void> => {
    try {
      await reportStop(recipient, stop);
    } catch (error) {
      logger.error('stop not reported', { tenant_id: recipient.tenant, ...errorTrace(error) });
    }
  };

  const show = async (recipient: Recipient, statusCode: 200 | 400): Promise<PageResponse> =>
    statePage(statusCode, recipient.tenant, await stops.find(recipient));

  const answer = async (request: APIGatewayProxyEventV2): Promise<PageResponse> => {
    const { rawQueryString, routeKey, requestContext, body = '', isBase64Encoded } = request;
    if (!isOptOutQuery(rawQueryString)) return invalidPage;
    const key = await optOutKeys.find();
    const recipient = key && parseOptOutQuery(key, rawQueryString);
    if (!recipient) return invalidPage;
    if (!routeKey.startsWith('POST ')) return show(recipient, 200);
    const change = requestedChange(body, isBase64Encoded);
    if (!change) return show(recipient, 400);
    const audit = auditOf(recipient, requestContext.requestId);
    if (change === 'stop') {
      const stop = await stops.optOut(recipient, audit);
      if (stop) await report(recipient, stop);
    } else if ((await stops.resume(recipient, audit)) === 'limited')
      return limitPage(recipient.tenant, secondsToNextDay(clock()));
    return show(recipient, 200);
  };

  return async (request: APIGatewayProxyEventV2): Promise<PageResponse> => {
    const page = await answer(request).catch((error: unknown) => {
      logger.error('request failed', { request_id: request.requestContext.requestId, ...errorTrace(error) });
      return unavailablePage;
    });
    return request.routeKey.startsWith('HEAD ') ? { ...page, body: '' } : page;
  };
};
