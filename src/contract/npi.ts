/** Prefix under which the Luhn formula counts a National Provider Identifier (45 CFR 162.406, NPI check digit). */
const ISSUER = '80840';

/** Whether these are the 10 digits of a National Provider Identifier, the last of which checks the others. */
export function isNpi(text: string): boolean {
  if (!/^\d{10}$/.test(text)) return false;
  let sum = 0;
  for (const [index, digit] of [...(ISSUER + text)].reverse().entries()) {
    const value = Number(digit) * (index % 2 === 0 ? 1 : 2);
    sum += value > 9 ? value - 9 : value;
  }
  return sum % 10 === 0;
}
