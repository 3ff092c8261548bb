import { z } from 'zod';

/*
 * The published rules of receivers, as far as messages like those of docs/examples/recipes can break them; they accept no
 * other elements. Lengths are in UTF-16 units, the strictest reading of "characters", where zod counts code points.
 */
const text = (maxLength: number) =>
  z
    .string()
    .min(1)
    .refine(({ length }) => length <= maxLength, `must have at most ${maxLength} characters`);

/** Slack, "Block Kit" and "Sending messages using incoming webhooks". */
const plainText = (maxLength: number) => z.strictObject({ type: z.literal('plain_text'), text: text(maxLength) });
const slackBlocks = z
  .array(
    z.discriminatedUnion('type', [
      z.strictObject({ type: z.literal('header'), text: plainText(150) }),
      z.strictObject({ type: z.literal('section'), text: plainText(3_000) }),
    ]),
  )
  .min(1)
  .max(50);
const slackMessage = z
  .looseObject({
    text: text(40_000).optional(),
    blocks: slackBlocks.optional(),
    attachments: z
      .array(
        z.strictObject({
          color: z.string().regex(/^(good|warning|danger|#[0-9a-fA-F]{6})$/),
          fallback: z.string(),
          blocks: slackBlocks,
        }),
      )
      .min(1)
      .max(100)
      .optional(),
  })
  .refine(({ text: message, blocks, attachments }) => message ?? blocks ?? attachments, 'no_text');

/** Adaptive Cards 1.5 and Microsoft Teams, "Create and send messages". Teams ignores the case of enumerations. */
const oneOf = (...values: string[]) => z.string().toLowerCase().pipe(z.enum(values)).optional();
const richText = z.strictObject({
  type: z.literal('RichTextBlock'),
  inlines: z
    .array(
      z.strictObject({
        type: z.literal('TextRun'),
        text: z.string(),
        size: oneOf('default', 'small', 'medium', 'large', 'extralarge'),
        weight: oneOf('default', 'lighter', 'bolder'),
      }),
    )
    .min(1),
});
const container = z.strictObject({
  type: z.literal('Container'),
  style: oneOf('default', 'emphasis', 'good', 'attention', 'warning', 'accent'),
  bleed: z.boolean().optional(),
  items: z.array(richText).min(1),
});
const teamsMessage = z.looseObject({
  type: z.literal('message'),
  attachments: z
    .array(
      z.strictObject({
        contentType: z.literal('application/vnd.microsoft.card.adaptive'),
        content: z.looseObject({
          type: z.literal('AdaptiveCard'),
          version: z.string().regex(/^1\.[0-5]$/),
          body: z.array(z.discriminatedUnion('type', [richText, container])).min(1),
        }),
      }),
    )
    .min(1),
});

/** Discord, "Execute Webhook" and "Embed Limits". */
const discordEmbed = z.strictObject({
  title: text(256).optional(),
  description: text(4_096).optional(),
  timestamp: z.iso.datetime({ offset: true }).optional(),
  color: z.int().min(0).max(0xffffff).optional(),
});
const MAX_EMBED_LENGTH = 6_000;
const discordMessage = z
  .looseObject({
    content: text(2_000).optional(),
    embeds: z.array(discordEmbed).min(1).max(10).optional(),
    allowed_mentions: z.strictObject({ parse: z.array(z.enum(['roles', 'users', 'everyone'])) }).optional(),
  })
  .refine(({ content, embeds }) => content ?? embeds, 'Cannot send an empty message')
  .refine(
    ({ embeds = [] }) =>
      embeds.map(({ title = '', description = '' }) => title + description).join('').length <= MAX_EMBED_LENGTH,
    'Embeds have more than 6000 characters',
  );

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

const rejectionOf =
  (schema: z.ZodType, maxBytes = Number.POSITIVE_INFINITY) =>
  (body: string): string | undefined =>
    Buffer.byteLength(body) > maxBytes
      ? `The body has more than ${maxBytes} bytes`
      : schema.safeParse(JSON.parse(body)).error?.message;

/** Functions that return why a receiver rejects a body, or undefined, by the name of its recipe. */
export const receivers: Readonly<Record<string, (body: string) => string | undefined>> = {
  Slack: rejectionOf(slackMessage),
  'Microsoft Teams': rejectionOf(teamsMessage, 28 * 1_024),
  Discord: rejectionOf(discordMessage),
  'Google Chat': rejectionOf(googleChatMessage, 32_000),
  'incident.io': rejectionOf(incidentIoEvent),
};
