import type { Attachment } from 'postal-mime';

/** The bytes of a part; PostalMime gives no strings when asked for bytes. */
export function bytesOfPart({ content }: Attachment): Buffer {
  return typeof content === 'string'
    ? Buffer.from(content)
    : Buffer.from(content as ArrayBuffer);
}
