import { validationError } from './errors.ts';

/** A number: 0.`digits` × 10^`exponent`. Zero has no digits. */
type Decimal = { isNegative: boolean; digits: string; exponent: number };

const MAX_DIGITS = 38;
/** The exponents of the first digit after the point in the smallest and largest numbers, 1e-130 and 9.9e125. */
const [MIN_EXPONENT, MAX_EXPONENT] = [-129, 126];

/**
 * Returns a number in the form in which it is stored: without exponent and superfluous zeros.
 *
 * @throws DynamoDbError if it is none, or too large, too small or too precise
 */
export const normalizeNumber = (text: string): string => {
  if (/^(?:0|-?[1-9]\d{0,14})$/.test(text)) return text;
  const decimal = parse(text);
  if (decimal.exponent > MAX_EXPONENT) {
    throw validationError('Number overflow. Attempting to store a number with magnitude larger than supported range');
  }
  if (decimal.digits !== '' && decimal.exponent < MIN_EXPONENT) {
    throw validationError('Number underflow. Attempting to store a number with magnitude smaller than supported range');
  }
  if (decimal.digits.length > MAX_DIGITS) {
    throw validationError('Attempting to store more than 38 significant digits in a Number');
  }
  return format(decimal);
};

const parse = (text: string): Decimal => {
  const [matched, sign = '', integer = '', fraction = '', exponent = '0'] =
    /^([+-]?)(\d*)(?:\.(\d*))?(?:[eE]([+-]?\d{1,9}))?$/.exec(text) ?? [];
  const all = integer + fraction;
  if (matched === undefined || all === '') {
    const value = text === '' ? '' : `: ${text}`;
    throw validationError(`The parameter cannot be converted to a numeric value${value}`);
  }
  let start = 0;
  while (all[start] === '0') start++;
  let end = all.length;
  while (end > start && all[end - 1] === '0') end--;
  if (start === end) return { isNegative: false, digits: '', exponent: 0 };
  return {
    isNegative: sign === '-',
    digits: all.slice(start, end),
    exponent: integer.length - start + Number(exponent),
  };
};

const format = ({ isNegative, digits, exponent }: Decimal): string => {
  if (digits === '') return '0';
  const integer = exponent > 0 ? digits.slice(0, exponent).padEnd(exponent, '0') : '0';
  const fraction = exponent > 0 ? digits.slice(exponent) : '0'.repeat(-exponent) + digits;
  return `${isNegative ? '-' : ''}${integer}${fraction === '' ? '' : `.${fraction}`}`;
};

/** Returns a negative number if the normalized number `a` is less than `b`, 0 if they are equal. */
export const compareNumbers = (a: string, b: string): number => {
  const [unitsA, unitsB] = inUnits(a, b);
  return unitsA < unitsB ? -1 : Number(unitsA > unitsB);
};

/**
 * Adds normalized numbers.
 *
 * @throws DynamoDbError if the result is too large or too precise
 */
export const addNumbers = (a: string, b: string): string => {
  const [unitsA, unitsB, scale] = inUnits(a, b);
  return normalizeNumber(`${unitsA + unitsB}e-${scale}`);
};

/** Returns two numbers in units of 10^-`scale`. */
const inUnits = (a: string, b: string): [unitsA: bigint, unitsB: bigint, scale: number] => {
  const [[integerA = '', fractionA = ''], [integerB = '', fractionB = '']] = [a.split('.'), b.split('.')];
  const scale = Math.max(fractionA.length, fractionB.length);
  return [BigInt(integerA + fractionA.padEnd(scale, '0')), BigInt(integerB + fractionB.padEnd(scale, '0')), scale];
};
