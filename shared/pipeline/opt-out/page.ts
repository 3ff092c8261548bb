import { createHash } from 'node:crypto';
import type { APIGatewayProxyStructuredResultV2 } from 'aws-lambda';
import { escape as escapeHtml } from 'html-escaper';
import type { OptOutPurpose } from '../../domain/opt-out.ts';

/** A response of the page. */
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

/** What the button sends. That of the opt-out is what mail services send (RFC 8058, section 3.1). */
export const confirmations = {
  'opt-out': { name: 'List-Unsubscribe', value: 'One-Click' },
  undo: { name: 'Undo', value: 'Confirm' },
} as const satisfies Record<OptOutPurpose, Pick<Button, 'name' | 'value'>>;

/** A body with one field, as a form or multipart, is shorter. */
const MAX_BODY_LENGTH = 4_096;

/** Returns whether the body of a request is what the button sends, as a form or multipart. */
export const isConfirmed = (purpose: OptOutPurpose, body: string, isBase64Encoded: boolean): boolean => {
  if (body.length > MAX_BODY_LENGTH) return false;
  const text = isBase64Encoded ? Buffer.from(body, 'base64').toString() : body;
  const { name, value } = confirmations[purpose];
  return text.includes(name) && text.includes(value);
};

const stopButton: Button = { ...confirmations['opt-out'], text: 'Stop these emails' };

/** Returns the page with the button. It has no effect. */
export const askPage = (purpose: OptOutPurpose, tenant: string): PageResponse =>
  purpose === 'opt-out'
    ? page(
        200,
        'Stop emails',
        `The account ${tenant} sends you alerts by email. Do you want to stop all of them?`,
        stopButton,
      )
    : page(
        200,
        'Resume emails',
        `You stopped the emails of the account ${tenant}. Do you want to get its alerts again?`,
        {
          ...confirmations.undo,
          text: 'Resume these emails',
        },
      );

/** Returns the page after the button. */
export const donePage = (purpose: OptOutPurpose, tenant: string): PageResponse =>
  purpose === 'opt-out'
    ? page(
        200,
        'Emails stopped',
        `The account ${tenant} sends you no more emails, except a last one with a link to undo this.`,
      )
    : page(200, 'Emails resumed', `The account ${tenant} can send you emails again.`);

/** Returns the page after an opt-out whose last email SES did not accept. The button sends it. */
export const notSentPage = (tenant: string): PageResponse =>
  page(
    503,
    'Emails stopped',
    `The account ${tenant} sends you no more emails. The email with the link to undo this could not be sent: press the button again later to get it.`,
    stopButton,
  );

/** The same for every link that is not valid, whatever exists. */
export const invalidPage: PageResponse = page(
  404,
  'This link is not valid',
  'Open the complete link of a newer email.',
);

/** A confirmation that was not sent by the button. */
export const unconfirmedPage: PageResponse = page(
  400,
  'Nothing was changed',
  'Open the link again, and press the button.',
);

/** A dependency failed, so that nothing may have changed. */
export const unavailablePage: PageResponse = page(
  503,
  'Please try again',
  'The service is busy. Open the link again later.',
);
