import { z } from 'zod';
import { type ChatReceiver, chatReceivers, type WebhookResponse } from './message.ts';

/*
 * The published rules of chat services for webhooks, as far as messages like those of docs/examples/recipes can break
 * them; they accept no other elements. Lengths are in UTF-16 units, the strictest reading of "characters".
 */

/** An HTTP response. */
type Answer = { status: number; contentType: string; body: string };

/** zod counts code points. */
export const text = (maxLength: number) =>
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

type Receiver = {
  schema: z.ZodType;
  /** The maximum size of a body in bytes. */
  maxBytes: number;
  accepted: Answer;
  rejected: (reason: string) => Answer;
};

const json = (status: number, body: object): Answer => ({
  status,
  contentType: 'application/json',
  body: JSON.stringify(body),
});

const receivers: Record<ChatReceiver, Receiver> = {
  slack: {
    schema: slackMessage,
    maxBytes: Number.POSITIVE_INFINITY,
    accepted: { status: 200, contentType: 'text/html', body: 'ok' },
    rejected: (reason) => {
      const body = reason === 'no_text' ? reason : reason.includes('blocks.') ? 'invalid_blocks' : 'invalid_payload';
      return { status: 400, contentType: 'text/html', body };
    },
  },
  teams: {
    schema: teamsMessage,
    maxBytes: 28 * 1024,
    accepted: { status: 202, contentType: 'text/plain', body: '' },
    rejected: (reason) => json(400, { error: { code: 'InvalidRequestContent', message: reason } }),
  },
  discord: {
    schema: discordMessage,
    maxBytes: Number.POSITIVE_INFINITY,
    accepted: { status: 204, contentType: 'application/json', body: '' },
    rejected: (reason) => json(400, { message: reason, code: 50_035 }),
  },
};

const parsed = (body: string): { value: unknown } | undefined => {
  try {
    return { value: JSON.parse(body) };
  } catch {
    return undefined;
  }
};

/** Returns the rules of a chat service that a body breaks, or undefined. */
const brokenRules = ({ schema, maxBytes }: Receiver, body: string): string | undefined => {
  const message = parsed(body);
  if (!message) return 'The body is not JSON';
  if (Buffer.byteLength(body) > maxBytes) return `The body has more than ${maxBytes} bytes`;
  const issues = schema.safeParse(message.value).error?.issues ?? [];
  if (issues.length === 0) return undefined;
  return issues.map((issue) => [issue.path.join('.'), issue.message].filter(Boolean).join(': ')).join('; ');
};

/** Returns why a chat service rejects a body, or undefined if it accepts it. */
export const rejectionBy = (receiver: ChatReceiver, body: string): string | undefined =>
  brokenRules(receivers[receiver], body);

/** Returns what a chat service answers to a body. */
export const chatAnswer = (receiver: ChatReceiver, body: string): Answer => {
  const { accepted, rejected } = receivers[receiver];
  const rejection = rejectionBy(receiver, body);
  return rejection === undefined ? accepted : rejected(rejection);
};

/** Returns the chat service of a response, or undefined if it is another one. */
export const chatReceiverOf = (response: WebhookResponse): ChatReceiver | undefined =>
  chatReceivers.find((name) => name === response);
