import * as z from 'zod';
import type { Response } from './databases.ts';

/** What two databases must agree on. */
export type Comparable = {
  status: number;
  /** The name of the error. */
  error: string | undefined;
  message: string | undefined;
  /** The other members of the response. */
  members: unknown;
};

const errorBody = z.object({ __type: z.string(), message: z.string().optional(), Message: z.string().optional() });

/** Returns what of a response databases must agree on: not the order of sets, nor how a number is written. */
export const comparable = ({ status, body }: Response): Comparable => {
  const { __type: _, message: __, Message: ___, ConsumedCapacity: ____, ...members } = body;
  const error = errorBody.safeParse(body).data;
  return {
    status,
    error: error?.__type.replace(/^.*#/, ''),
    message: error?.Message ?? error?.message,
    members: canonical(members),
  };
};

/** Members in whose lists the order is undefined. */
const UNORDERED = ['SS', 'NS', 'BS', 'Responses by table'];

const canonical = (value: unknown, name = ''): unknown => {
  if (Array.isArray(value)) {
    const elements = value.map((element) => canonical(element, name));
    return UNORDERED.includes(name) ? elements.toSorted(byText) : elements;
  }
  if (typeof value !== 'object' || value === null) return /^NS?$/.test(name) ? number(String(value)) : value;
  const isByTable = name === 'Responses';
  const members = Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(
    members.map(([key, element]) => [key, canonical(element, isByTable ? 'Responses by table' : key)]),
  );
};

const byText = (a: unknown, b: unknown): number => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1);

/** Returns the digits and the exponent of a number. */
const number = (text: string): string => {
  const [, sign = '', integer = '', fraction = '', exponent = '0'] =
    /^(-?)\+?(\d*)\.?(\d*)(?:e([+-]?\d+))?$/i.exec(text) ?? [];
  const digits = (integer + fraction).replace(/^0+/, '');
  const significant = digits.replace(/0+$/, '');
  if (significant === '') return '0';
  return `${sign}${significant}e${Number(exponent) - fraction.length + digits.length - significant.length}`;
};
