import { optOutPaths } from '../../shared/contracts/endpoints.ts';
import type { OptOutPurpose } from '../../shared/domain/opt-out.ts';
import {
  askPage,
  confirmations,
  donePage,
  invalidPage,
  type PageResponse,
  unavailablePage,
  unconfirmedPage,
} from '../../shared/pipeline/opt-out/page.ts';

/** The pages for recipients, which need no token and return HTML. */
export const optOutTag = {
  name: 'opt-out',
  description: 'Pages on which recipients stop the emails of an account, and undo that. Links in emails lead to them.',
};

const html = (description: string, { body }: PageResponse) => ({
  description,
  content: { 'text/html': { schema: { type: 'string' }, example: body } },
});

const linkParameters = [
  { name: 'tenant', description: 'The account, encoded', example: 'YWNtZQ' },
  { name: 'link', description: 'The recipient, encrypted and authenticated', example: 'q1x0…' },
].map((parameter) => ({ ...parameter, in: 'query', required: true, schema: { type: 'string' } }));

const failures = {
  404: html('The link is not valid.', invalidPage),
  429: { $ref: '#/components/responses/TooManyRequests' },
  503: html('Nothing may have changed, or the last email could not be sent.', unavailablePage),
};

const words = {
  'opt-out': {
    action: 'Stop the emails of an account to a recipient',
    effect: 'The first request sends a last email with a link to undo this; further ones change nothing.',
  },
  undo: { action: 'Undo an opt-out', effect: 'Further requests change nothing.' },
} as const satisfies Record<OptOutPurpose, unknown>;

const pageOf = (purpose: OptOutPurpose) => {
  const { action, effect } = words[purpose];
  const { name, value } = confirmations[purpose];
  const shared = { tags: [optOutTag.name], security: [], parameters: linkParameters };
  const form = {
    schema: { type: 'object', required: [name], properties: { [name]: { type: 'string', const: value } } },
    example: { [name]: value },
  };
  return {
    get: {
      ...shared,
      operationId: `show-${purpose}`,
      summary: `${action}: the page with the button`,
      description: 'Has no effect.',
      responses: { 200: html('The page.', askPage(purpose, 'acme')), ...failures },
    },
    post: {
      ...shared,
      operationId: purpose,
      summary: action,
      description: effect,
      requestBody: {
        required: true,
        content: { 'application/x-www-form-urlencoded': form, 'multipart/form-data': form },
      },
      responses: {
        200: html('Done, now or before.', donePage(purpose, 'acme')),
        400: html('The body is not that of the button.', unconfirmedPage),
        ...failures,
      },
    },
  };
};

/** The paths of the pages (docs/decisions/opt-out.md). */
export const optOutPages = {
  [optOutPaths['opt-out']]: pageOf('opt-out'),
  [optOutPaths.undo]: pageOf('undo'),
};
