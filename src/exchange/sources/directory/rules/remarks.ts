/** Collects what is said of one resource besides its content. */
export class Remarks {
  readonly list: string[] = [];

  /** @returns null, for what is left out */
  say(remark: string): null {
    if (!this.list.includes(remark)) this.list.push(remark);
    return null;
  }
}
