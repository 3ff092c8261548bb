import { z } from 'zod';
import { rejectionBy, text } from '../../bin/local/inbox/chat-receivers.ts';

/** Google Chat: the resource `spaces.messages`, in which a message has at most 32,000 bytes. */
const googleChatMessage = z.strictObject({
  cardsV2: z
    .array(
      z.strictObject({
        cardId: text(64),
        card: z.strictObject({
          header: z.strictObject({ title: text(32_000), subtitle: z.string().optional() }),
          sections: z
            .array(
              z.strictObject({
                widgets: z.array(z.strictObject({ textParagraph: z.strictObject({ text: text(32_000) }) })).min(1),
              }),
            )
            .min(1),
        }),
      }),
    )
    .min(1),
  fallbackText: z.string().optional(),
  thread: z.strictObject({ threadKey: text(4_000) }).optional(),
});

/** incident.io: the operation `CreateHTTP` of "Alert Events V2". */
const incidentIoEvent = z.strictObject({
  title: text(10_000),
  status: z.enum(['firing', 'resolved']),
  deduplication_key: text(1_000),
  description: z.string().optional(),
  metadata: z.record(z.string(), z.unknown()).optional(),
  source_url: z.url().optional(),
});

const rejectionOf = (schema: z.ZodType) => (body: string) => schema.safeParse(JSON.parse(body)).error?.message;

/** Functions that return why a receiver rejects a body, or undefined, by the name of its recipe. */
export const receivers: Readonly<Record<string, (body: string) => string | undefined>> = {
  Slack: (body) => rejectionBy('slack', body),
  'Microsoft Teams': (body) => rejectionBy('teams', body),
  Discord: (body) => rejectionBy('discord', body),
  'Google Chat': (body) =>
    Buffer.byteLength(body) > 32_000 ? 'The message is too large' : rejectionOf(googleChatMessage)(body),
  'incident.io': rejectionOf(incidentIoEvent),
};
