import { validationError } from './errors.ts';

const MAX_DIGITS = 38;

/**
 * Returns a number in the form in which it is stored: without superfluous zeros.
 *
 * @throws DynamoDbError if it is none, too precise, or written with an exponent, which the local DynamoDB does not support
 */
export const normalizeNumber = (text: string): string => {
  if (/^(?:0|-?[1-9]\d{0,14})$/.test(text)) return text;
  const [matched, sign = '', integerDigits = '', fractionDigits = ''] = /^(-?)(\d+)(?:\.(\d*))?$/.exec(text) ?? [];
  if (matched === undefined) {
    const value = text === '' ? '' : `: ${text}`;
    throw validationError(`The parameter cannot be converted to a numeric value${value}`);
  }
  if (significantDigits(integerDigits + fractionDigits).length > MAX_DIGITS) {
    throw validationError('Attempting to store more than 38 significant digits in a Number');
  }
  const integer = withoutLeadingZeros(integerDigits) || '0';
  const fraction = withoutTrailingZeros(fractionDigits);
  const number = fraction === '' ? integer : `${integer}.${fraction}`;
  return number === '0' ? number : sign + number;
};

/** Returns digits without the zeros at both ends. */
export const significantDigits = (digits: string): string => withoutTrailingZeros(withoutLeadingZeros(digits));

const withoutLeadingZeros = (digits: string): string => {
  let start = 0;
  while (digits[start] === '0') start++;
  return digits.slice(start);
};

const withoutTrailingZeros = (digits: string): string => {
  let end = digits.length;
  while (digits[end - 1] === '0') end--;
  return digits.slice(0, end);
};

/** Returns a negative number if the normalized number `a` is less than `b`, 0 if they are equal. */
export const compareNumbers = (a: string, b: string): number => {
  const [unitsA, unitsB] = inUnits(a, b);
  return unitsA < unitsB ? -1 : Number(unitsA > unitsB);
};

/** Adds normalized numbers. @throws DynamoDbError if the result is too precise */
export const addNumbers = (a: string, b: string): string => {
  const [unitsA, unitsB, scale] = inUnits(a, b);
  const sum = unitsA + unitsB;
  const digits = String(sum < 0 ? -sum : sum).padStart(scale + 1, '0');
  const point = digits.length - scale;
  return normalizeNumber(`${sum < 0 ? '-' : ''}${digits.slice(0, point)}.${digits.slice(point)}`);
};

/** Returns two numbers in units of 10^-`scale`. */
const inUnits = (a: string, b: string): [unitsA: bigint, unitsB: bigint, scale: number] => {
  const [[integerA = '', fractionA = ''], [integerB = '', fractionB = '']] = [a.split('.'), b.split('.')];
  const scale = Math.max(fractionA.length, fractionB.length);
  return [BigInt(integerA + fractionA.padEnd(scale, '0')), BigInt(integerB + fractionB.padEnd(scale, '0')), scale];
};
