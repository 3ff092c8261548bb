import { isJsonObject } from './json.ts';

/** The fields of the webhook payload, and the previous state. */
export const templateFields = [
  'event_id',
  'log_entry_id',
  'details',
  'entity',
  'check',
  'alarm',
  'tenant_id',
  'previous_state',
] as const;

/** The values that the service derives from an event, which placeholders name with `alert.` before them. */
export const alertNames = [
  'title',
  'text',
  'state',
  'status',
  'color',
  'color_number',
  'style',
  'emoji',
  'time',
  'incident_key',
  'url',
] as const;
export type AlertName = (typeof alertNames)[number];

/** The keys that lead to the value, from the alarm event or from `alert`. */
export type Placeholder = {
  readonly path: readonly string[];
  readonly isInText: boolean;
};

export type TemplatePart = string | Placeholder;

/** The message is a rule as it follows a field name. */
export class BrokenTemplateError extends Error {
  override readonly name = 'BrokenTemplateError';
  readonly path: readonly string[];

  constructor(message: string, path: readonly string[] = []) {
    super(message);
    this.path = path;
  }
}

/** Deeper bodies would exceed the call stack. */
const MAX_DEPTH = 100;

const KEY = '[A-Za-z0-9_-]+';
const QUOTED_KEY = String.raw`\["(?:[^"\\]|\\.)*"\]`;
/** Literal braces after a backslash, or those of a placeholder with its path. */
const PLACEHOLDER = new RegExp(String.raw`\\\{\{|\{\{(?: *(${KEY}(?:\.${KEY}|${QUOTED_KEY})*) *\}\})?`, 'g');
const KEYS = new RegExp(`${QUOTED_KEY}|${KEY}`, 'g');

const MALFORMED =
  'has a malformed placeholder: it must look like {{alarm.label}} or {{details.metrics["cpu.idle"].data}}, and \\{{ is a literal {{';

const isKnown = ([first, second, ...rest]: readonly string[]): boolean =>
  first === 'alert'
    ? rest.length === 0 && alertNames.some((name) => name === second)
    : templateFields.some((field) => field === first);

export const placeholderText = ({ path: [first, ...rest] }: Placeholder): string => {
  const keys = rest.map((key) => (/^[\w-]+$/.test(key) ? `.${key}` : `[${JSON.stringify(key)}]`));
  return `{{${first}${keys.join('')}}}`;
};

const keysOf = (path: string): string[] | undefined => {
  try {
    return (path.match(KEYS) ?? []).map((key) => (key.startsWith('[') ? String(JSON.parse(key)) : key));
  } catch {
    return undefined;
  }
};

const parsePath = (path: string | undefined): string[] => {
  const keys = path === undefined ? undefined : keysOf(path);
  if (!keys) throw new BrokenTemplateError(MALFORMED);
  if (!isKnown(keys)) {
    throw new BrokenTemplateError(
      `has an unknown placeholder: its first name must be ${templateFields.join(', ')} or alert, followed by ${alertNames.join(', ')}`,
    );
  }
  return keys;
};

const splitText = (text: string): (string | string[])[] => {
  const parts: (string | string[])[] = [];
  let position = 0;
  for (const { 0: match, 1: path, index } of text.matchAll(PLACEHOLDER)) {
    parts.push(text.slice(position, index));
    position = index + match.length;
    parts.push(match.startsWith('\\') ? match.slice(1) : parsePath(path));
  }
  return [...parts, text.slice(position)].filter((part) => part !== '');
};

/** Returns a text as it stands between the quotes of a JSON string. */
export const escapedText = (text: string): string => JSON.stringify(text).slice(1, -1);

/** With a JSON value for each placeholder, the parts are JSON. Keys have none. @throws BrokenTemplateError */
export const parseBodyTemplate = (body: unknown): TemplatePart[] => {
  const parts: TemplatePart[] = [];
  const keys: string[] = [];

  const addText = (text: string): void => {
    const [first, ...rest] = splitText(text);
    if (typeof first === 'object' && rest.length === 0) {
      parts.push({ path: first, isInText: false });
      return;
    }
    parts.push('"');
    for (const part of first === undefined ? [] : [first, ...rest])
      parts.push(typeof part === 'string' ? escapedText(part) : { path: part, isInText: true });
    parts.push('"');
  };

  const addEntry = (start: string, key: string, value: unknown): void => {
    parts.push(start);
    keys.push(key);
    add(value);
    keys.pop();
  };

  const add = (value: unknown): void => {
    if (keys.length > MAX_DEPTH) throw new BrokenTemplateError(`must not be nested deeper than ${MAX_DEPTH} levels`);
    if (typeof value === 'string') {
      addText(value);
    } else if (Array.isArray(value)) {
      parts.push('[');
      for (const [index, entry] of value.entries()) addEntry(index > 0 ? ',' : '', String(index), entry);
      parts.push(']');
    } else if (isJsonObject(value)) {
      parts.push('{');
      for (const [index, [key, entry]] of Object.entries(value).entries())
        addEntry(`${index > 0 ? ',' : ''}${JSON.stringify(key)}:`, key, entry);
      parts.push('}');
    } else {
      parts.push(JSON.stringify(value));
    }
  };

  try {
    add(body);
    return parts;
  } catch (error) {
    throw error instanceof BrokenTemplateError ? new BrokenTemplateError(error.message, keys) : error;
  }
};
