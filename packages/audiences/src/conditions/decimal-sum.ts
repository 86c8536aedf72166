/**
 * An exact decimal sum of doubles, each taken as the decimal number that it is written as (0.1 is a tenth). Stored as it is, so its
 * forms are a format: a safe integer as a number, anything else as `"12993e-1"`: all digits without trailing zeros, and the power of
 * ten. One sum has one form, whatever the order of the additions. At most some 700 characters, because a double has few digits
 * between 1e-324 and 1e309; money takes about ten.
 */
export type DecimalSum = number | string;

/** `units` times ten to the power of `exponent`. */
interface Decimal {
  readonly units: bigint;
  readonly exponent: number;
}

/** Powers of ten that doubles hold exactly. */
const TENS = Array.from({ length: 23 }, (_, power) => 10 ** power);
/** Decimal places up to which a value is tried as a whole number of units. */
const MOST_PLACES = 6;
/** Decimals with at most 15 digits and doubles correspond one to one. */
const MOST_UNITS = 1e15;

export function addDecimals(one: DecimalSum, other: DecimalSum): DecimalSum {
  return addSmall(one, other) ?? storedOf(plus(decimalOf(one), decimalOf(other)));
}

/** The exact sum as it is stored. `value` is a double of a message. */
export function decimalSumOf(value: number): DecimalSum {
  for (let places = 0; places <= MOST_PLACES; places++) {
    const scale = TENS[places] as number;
    const units = Math.round(value * scale);
    if (units / scale === value && Math.abs(units) < MOST_UNITS) return storedSmall(units, -places);
  }
  return storedOf(decimalIn(String(value)));
}

/** The sum, if whole numbers of units can be added without an error, as for money. About 1 µs with reading and writing the
 * form; big.js takes 2. */
function addSmall(one: DecimalSum, other: DecimalSum): DecimalSum | undefined {
  const a = smallOf(one);
  const b = smallOf(other);
  if (a === undefined || b === undefined) return undefined;
  const exponent = Math.min(a.exponent, b.exponent);
  const left = a.units * (TENS[a.exponent - exponent] as number);
  const right = b.units * (TENS[b.exponent - exponent] as number);
  const isExact = [left, right, left + right].every(Number.isSafeInteger);
  return isExact ? storedSmall(left + right, exponent) : undefined;
}

function smallOf(sum: DecimalSum): { readonly units: number; readonly exponent: number } | undefined {
  if (typeof sum === "number") return { units: sum, exponent: 0 };
  const at = sum.indexOf("e");
  if (at > 17) return undefined;
  const units = Number(sum.slice(0, at));
  const exponent = Number(sum.slice(at + 1));
  const isSmall = Number.isSafeInteger(units) && exponent <= 0 && exponent > -TENS.length;
  return isSmall ? { units, exponent } : undefined;
}

/** `exponent`: 0 or less. */
function storedSmall(units: number, exponent: number): DecimalSum {
  let [left, power] = [units, exponent];
  while (power < 0 && left !== 0 && left % 10 === 0) {
    left /= 10;
    power += 1;
  }
  return power === 0 || left === 0 ? left + 0 : `${left}e${power}`;
}

/**
 * Adds many values. A window holds up to ten thousand and is added up for each new event, so values with few decimal places are
 * added as whole numbers: 15 ns each, against over 1 µs one by one (Node 24, amounts with two places).
 */
export function decimalSumOfAll(values: Iterable<number>): DecimalSum {
  let places = 0;
  let scale = 1;
  let units = 0;
  let rest: Decimal | undefined;
  const flush = (): void => {
    const part = { units: BigInt(units), exponent: -places };
    rest = rest === undefined ? part : plus(rest, part);
    units = 0;
  };
  for (const value of values) {
    let scaled = Math.round(value * scale);
    while (scaled / scale !== value && places < MOST_PLACES) {
      flush();
      places += 1;
      scale *= 10;
      scaled = Math.round(value * scale);
    }
    if (scaled / scale !== value || Math.abs(scaled) >= MOST_UNITS) {
      const part = decimalIn(String(value));
      rest = rest === undefined ? part : plus(rest, part);
      continue;
    }
    units += scaled;
    if (Math.abs(units) >= MOST_UNITS) flush();
  }
  flush();
  return storedOf(rest ?? { units: 0n, exponent: 0 });
}

/** The nearest double. Beyond the range of doubles the greatest one: infinity would be null in JSON. */
export function numberOf(sum: DecimalSum): number {
  return typeof sum === "number" ? sum : inRange(Number(sum));
}

/** Digits of a quotient that decide to which double it is rounded, with some to spare. */
const QUOTIENT_DIGITS = 40;

/** The double that is nearest to the sum divided by a count. */
export function averageOf(sum: DecimalSum, count: number): number {
  // One division of two exact doubles is rounded correctly.
  if (typeof sum === "number") return sum / count;
  const { units, exponent } = decimalOf(sum);
  const raised = Math.max(0, QUOTIENT_DIGITS - String(units).length + String(count).length);
  const dividend = units * 10n ** BigInt(raised);
  const quotient = dividend / BigInt(count);
  // A remainder is a digit more, so that what lies between two doubles is not taken for the middle.
  const sticky = dividend % BigInt(count) === 0n ? "0" : "1";
  return inRange(Number(`${quotient}${sticky}e${exponent - raised - 1}`));
}

function decimalOf(sum: DecimalSum): Decimal {
  return decimalIn(String(sum));
}

/** Reads `-12.5`, `1e-7`, `12993e-1`. */
function decimalIn(text: string): Decimal {
  const [mantissa = "", power = "0"] = text.split("e");
  const [whole = "", fraction = ""] = mantissa.split(".");
  return { units: BigInt(whole + fraction), exponent: Number(power) - fraction.length };
}

function plus(one: Decimal, other: Decimal): Decimal {
  const exponent = Math.min(one.exponent, other.exponent);
  return { units: raisedTo(one, exponent) + raisedTo(other, exponent), exponent };
}

function raisedTo({ units, exponent }: Decimal, lower: number): bigint {
  return exponent === lower ? units : units * 10n ** BigInt(exponent - lower);
}

function storedOf({ units, exponent }: Decimal): DecimalSum {
  if (units === 0n) return 0;
  const digits = String(units);
  const kept = digits.replace(/0+$/, "");
  const power = exponent + digits.length - kept.length;
  const whole = power < 0 || power > 15 ? undefined : Number(`${kept}e${power}`);
  return whole !== undefined && Number.isSafeInteger(whole) ? whole : `${kept}e${power}`;
}

function inRange(value: number): number {
  return Math.min(Number.MAX_VALUE, Math.max(-Number.MAX_VALUE, value));
}
