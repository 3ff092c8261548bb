import { expect } from 'vitest';
import * as z from 'zod';
import type { Client } from './api.ts';

const metadata = z.strictObject({
  count: z.number(),
  limit: z.number(),
  marker: z.string().nullable(),
  next_marker: z.string().nullable(),
  next_href: z.string().nullable(),
});

/** Returns functions that read collections of these records. They fail if a response has another format. */
export const collectionsOf = <Schema extends z.ZodType>(record: Schema) => {
  const envelope = z.strictObject({ values: z.array(record), metadata });

  const list = async (client: Client, path: string): Promise<z.infer<typeof envelope>> => {
    const response = await client.get(path);
    expect(response.status, response.text).toBe(200);
    return envelope.parse(response.body);
  };

  /** Follows `next_href` to the last page. @returns the records of all pages */
  const follow = async (client: Client, path: string): Promise<z.infer<Schema>[]> => {
    const values: z.infer<Schema>[] = [];
    for (let href: string | null = path; href !== null; ) {
      const page: z.infer<typeof envelope> = await list(client, href);
      values.push(...page.values);
      href = page.metadata.next_href;
    }
    return values;
  };

  return { list, follow };
};
