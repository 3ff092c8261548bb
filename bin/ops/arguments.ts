import { InvalidArgumentError } from 'commander';
import { tenantId } from '../../shared/contracts/alarm-event.ts';
import { fieldsOf } from '../../shared/contracts/notification-types.ts';

/** A tenant's id. */
export function readTenant(text: string): string {
  if (tenantId.safeParse(text).success) return text;
  throw new InvalidArgumentError('A tenant is 1 to 128 printable ASCII characters without spaces.');
}

/** A whole number from 1 up to a limit. */
export const readNumber =
  (maximum: number) =>
  (text: string): number => {
    const number = Number(text);
    if (/^\d+$/.test(text) && number >= 1 && number <= maximum) return number;
    throw new InvalidArgumentError(`It is a whole number from 1 to ${maximum}.`);
  };

/** A text of so many characters at least and at most. */
export const readText =
  (minimum: number, maximum: number) =>
  (text: string): string => {
    const length = [...text].length;
    if (length >= minimum && length <= maximum) return text;
    throw new InvalidArgumentError(`It has ${minimum} to ${maximum} characters.`);
  };

/** One of several e-mail addresses. */
export function readAddress(text: string, before: string[] = []): string[] {
  if (fieldsOf('email').address?.allows(text)) return [...before, text];
  throw new InvalidArgumentError('It is an e-mail address.');
}

/** A token that webhooks carry in a header. */
export function readWebhookToken(text: string): string {
  if (/^[\x21-\x7e]{10,64}$/.test(text)) return text;
  throw new InvalidArgumentError('A webhook token is 10 to 64 printable ASCII characters without spaces.');
}

/** The part of a help page that shows how a command is used. */
export const examples = (...lines: string[]): string =>
  ['', 'Examples:', ...lines.map((line) => `  npm run -s ops -- ${line}`)].join('\n');
