import { z } from 'zod';
import { type ChatReceiver, chatReceivers, type WebhookResponse } from './message.ts';

/*
 * The published rules of chat services for webhooks, as far as a message about an alert can break them. Lengths are in
 * UTF-16 units, the strictest reading of "characters".
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
const slackText = (maxLength: number) =>
  z.discriminatedUnion('type', [
    z.strictObject({ type: z.literal('plain_text'), text: text(maxLength), emoji: z.boolean().optional() }),
    z.strictObject({ type: z.literal('mrkdwn'), text: text(maxLength), verbatim: z.boolean().optional() }),
  ]);
const blockId = text(255).optional();
const slackBlock = z.discriminatedUnion('type', [
  z.strictObject({
    type: z.literal('header'),
    text: slackText(150).refine(({ type }) => type === 'plain_text', 'must be plain_text'),
    block_id: blockId,
  }),
  z.strictObject({
    type: z.literal('section'),
    text: slackText(3_000).optional(),
    fields: z.array(slackText(2_000)).min(1).max(10).optional(),
    expand: z.boolean().optional(),
    block_id: blockId,
  }),
  z.strictObject({ type: z.literal('context'), elements: z.array(slackText(2_000)).min(1).max(10), block_id: blockId }),
  z.strictObject({ type: z.literal('divider'), block_id: blockId }),
]);
const slackBlocks = z.array(slackBlock).min(1).max(50);
const slackMessage = z
  .looseObject({
    text: text(40_000).optional(),
    blocks: slackBlocks.optional(),
    attachments: z
      .array(
        z.looseObject({
          color: z
            .string()
            .regex(/^(good|warning|danger|#[0-9a-fA-F]{6})$/)
            .optional(),
          fallback: z.string().optional(),
          blocks: slackBlocks.optional(),
        }),
      )
      .min(1)
      .max(100)
      .optional(),
  })
  .refine(({ text: message, blocks, attachments }) => message ?? blocks ?? attachments, 'no_text');

/** Adaptive Cards 1.5 and Microsoft Teams, "Create and send messages". Teams ignores the case of enumerations. */
const oneOf = (...values: string[]) => z.string().toLowerCase().pipe(z.enum(values)).optional();
const cardText = {
  text: z.string(),
  color: oneOf('default', 'dark', 'light', 'accent', 'good', 'warning', 'attention'),
  size: oneOf('default', 'small', 'medium', 'large', 'extralarge'),
  weight: oneOf('default', 'lighter', 'bolder'),
  fontType: oneOf('default', 'monospace'),
  isSubtle: z.boolean().optional(),
};
const cardElement = z.discriminatedUnion('type', [
  z.looseObject({ type: z.literal('TextBlock'), ...cardText, wrap: z.boolean().optional() }),
  z.looseObject({
    type: z.literal('RichTextBlock'),
    inlines: z.array(z.union([z.string(), z.looseObject({ type: z.literal('TextRun'), ...cardText })])).min(1),
  }),
  z.looseObject({
    type: z.literal('FactSet'),
    facts: z.array(z.looseObject({ title: z.string(), value: z.string() })).min(1),
  }),
  z.looseObject({
    type: z.literal('Container'),
    style: oneOf('default', 'emphasis', 'good', 'attention', 'warning', 'accent'),
    bleed: z.boolean().optional(),
    get items() {
      return z.array(cardElement).min(1);
    },
  }),
]);
const teamsMessage = z.looseObject({
  type: z.literal('message'),
  attachments: z
    .array(
      z.looseObject({
        contentType: z.literal('application/vnd.microsoft.card.adaptive'),
        contentUrl: z.null().optional(),
        content: z.looseObject({
          type: z.literal('AdaptiveCard'),
          version: z.string().regex(/^1\.[0-5]$/),
          body: z.array(cardElement).min(1),
        }),
      }),
    )
    .min(1),
});

/** Discord, "Execute Webhook" and "Embed Limits". */
const discordEmbed = z.looseObject({
  title: text(256).optional(),
  description: text(4_096).optional(),
  url: z.url().optional(),
  timestamp: z.iso.datetime({ offset: true }).optional(),
  color: z.int().min(0).max(0xffffff).optional(),
  fields: z
    .array(z.strictObject({ name: text(256), value: text(1_024), inline: z.boolean().optional() }))
    .max(25)
    .optional(),
  footer: z.looseObject({ text: text(2_048) }).optional(),
});
const MAX_EMBED_LENGTH = 6_000;
const discordMessage = z
  .looseObject({
    content: text(2_000).optional(),
    username: text(80)
      .regex(/^(?!.*(discord|clyde))/i)
      .optional(),
    embeds: z.array(discordEmbed).min(1).max(10).optional(),
    allowed_mentions: z
      .strictObject({
        parse: z.array(z.enum(['roles', 'users', 'everyone'])).optional(),
        roles: z.array(z.string()).max(100).optional(),
        users: z.array(z.string()).max(100).optional(),
      })
      .optional(),
  })
  .refine(({ content, embeds }) => content ?? embeds, 'Cannot send an empty message')
  .refine(
    ({ embeds = [] }) =>
      embeds
        .flatMap(({ title, description, footer, fields = [] }) => [
          title,
          description,
          footer?.text,
          ...fields.flatMap(({ name, value }) => [name, value]),
        ])
        .join('').length <= MAX_EMBED_LENGTH,
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
