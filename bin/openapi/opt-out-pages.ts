import { OPT_OUT_PATH } from '../../shared/domain/email-stop.ts';
import {
  buttonFields,
  invalidPage,
  limitPage,
  type PageResponse,
  statePage,
  unavailablePage,
} from '../../shared/pipeline/opt-out.ts';

/** The page for recipients, which needs no token and returns HTML. */
export const optOutTag = {
  name: 'opt-out',
  description:
    'The page on which recipients stop the emails of an account, and resume them. Links in emails lead to it.',
};

const html = (description: string, { body }: PageResponse) => ({
  description,
  content: { 'text/html': { schema: { type: 'string' }, example: body } },
});

const shared = {
  tags: [optOutTag.name],
  security: [],
  parameters: [
    { name: 'tenant', description: 'The account, encoded', example: 'YWNtZQ' },
    { name: 'link', description: 'The recipient, encrypted and authenticated', example: 'q1x0…' },
  ].map((parameter) => ({ ...parameter, in: 'query', required: true, schema: { type: 'string' } })),
};

const failures = {
  404: html('The link is not valid.', invalidPage),
  503: html('Nothing may have changed.', unavailablePage),
};

const show = (method: 'GET' | 'HEAD') => ({
  ...shared,
  operationId: method === 'GET' ? 'show-opt-out' : 'head-opt-out',
  summary: method === 'GET' ? 'The page with the state of the emails and a button' : 'The headers of that page',
  description: 'Has no effect.',
  responses: {
    200:
      method === 'GET' ? html('The page.', statePage(200, 'acme', undefined)) : { description: 'The link is valid.' },
    ...(method === 'GET' ? failures : { 404: { description: 'The link is not valid.' } }),
    429: { $ref: '#/components/responses/TooManyRequests' },
  },
});

const fieldSchema = ({ name, value }: (typeof buttonFields)[keyof typeof buttonFields]) => ({
  type: 'object',
  required: [name],
  properties: { [name]: { type: 'string', const: value } },
});

const form = {
  schema: { oneOf: [fieldSchema(buttonFields.stop), fieldSchema(buttonFields.resume)] },
  example: { [buttonFields.stop.name]: buttonFields.stop.value },
};

/** The path of the page (docs/decisions/opt-out.md). */
export const optOutPages = {
  [OPT_OUT_PATH]: {
    get: show('GET'),
    head: show('HEAD'),
    post: {
      ...shared,
      operationId: 'opt-out',
      summary: 'Stop the emails of an account to a recipient, or resume them',
      description: 'The body says which. Further requests change nothing. Stopping is never refused.',
      requestBody: {
        required: true,
        content: { 'application/x-www-form-urlencoded': form, 'multipart/form-data': form },
      },
      responses: {
        200: html('Done, now or before.', statePage(200, 'acme', { reason: 'opted_out', sinceMs: 0 })),
        400: html('The body is that of neither button.', statePage(400, 'acme', undefined)),
        ...failures,
        429: html('The emails were resumed ten times on this UTC day, or too many requests.', limitPage('acme', 3_600)),
      },
    },
  },
};
