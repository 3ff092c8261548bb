import * as z from 'zod/mini';
import { MAX_LABEL_LENGTH, text, typeRule, withoutNulls } from './text.ts';

/** docs/decisions/api.md#tokens-and-roles */
export const roles = ['admin', 'creator', 'observer'] as const;
export type Role = (typeof roles)[number];

/** Of an account, without expired ones (docs/api.md#limits-and-usage). */
export const MAX_TOKENS = 100;

export const MAX_TOKEN_DAYS = 3_650;
export const DEFAULT_TOKEN_DAYS = 365;

const role = z.enum(roles, typeRule(`must be one of ${roles.join(', ')}`));

const DAYS_RULE = `must be a whole number from 1 to ${MAX_TOKEN_DAYS}`;

const days = z._default(
  z
    .number(DAYS_RULE)
    .check(z.refine((value) => Number.isInteger(value) && value >= 1 && value <= MAX_TOKEN_DAYS, DAYS_RULE)),
  DEFAULT_TOKEN_DAYS,
);

const newToken = z.object({ label: text(1, MAX_LABEL_LENGTH), role, days }, 'must be a JSON object');

export const parseNewToken = (body: unknown) => newToken.safeParse(withoutNulls(body));
export const newTokenBody = { parse: parseNewToken, attributes: Object.keys(newToken.shape) };

/** The issuer of tokens that no token issued. */
export const OPERATOR = 'operator';
