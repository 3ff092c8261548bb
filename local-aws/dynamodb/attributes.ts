import { z } from 'zod';

/** Attributes in DynamoDB JSON: names and typed values such as `{ S: 'text' }`. */
export type Attributes = Record<string, Record<string, unknown>>;

/** The schema of attributes in a request or response. */
export const attributesSchema = z.record(z.string(), z.record(z.string(), z.unknown()));
