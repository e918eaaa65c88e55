/** Prefix of a National Provider Identifier in the calculation of its check digit (45 CFR 162.406). */
const ISSUER = '80840';

/** Whether the text is a valid National Provider Identifier: 10 digits, the last being the Luhn check digit. */
export function isNpi(text: string): boolean {
  if (!/^\d{10}$/.test(text)) return false;
  let sum = 0;
  for (const [index, digit] of [...(ISSUER + text)].reverse().entries()) {
    const value = Number(digit) * (index % 2 === 0 ? 1 : 2);
    sum += value > 9 ? value - 9 : value;
  }
  return sum % 10 === 0;
}
