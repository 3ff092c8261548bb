import { z } from 'zod';

/** Attributes in DynamoDB's JSON: name to `{ S: 'text' }` and the like. */
export type Attributes = Record<string, Record<string, unknown>>;

/** Reads attributes from a request or a response. */
export const attributesSchema = z.record(z.string(), z.record(z.string(), z.unknown()));
