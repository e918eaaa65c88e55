/**
 * A decimal that is written with more digits than its number has: 5.00. In
 * everything else it is a number.
 */
export class WrittenDecimal extends Number {
  readonly text: string;

  constructor(text: string) {
    super(text);
    this.text = text;
  }
}
