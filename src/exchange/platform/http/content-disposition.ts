/**
 * The value of `Content-Disposition` for an untrusted file name (RFC 6266, RFC
 * 8187): an ASCII name for old clients, and the full name for all others. Path
 * separators, quotes and control characters are replaced.
 */
export function contentDisposition(
  type: 'attachment' | 'inline',
  fileName: string,
): string {
  const name =
    fileName
      .normalize('NFC')
      .replaceAll(/[\p{Cc}\p{Cf}\p{Cs}/\\]/gu, '_')
      .slice(0, 200) || 'document';
  const ascii = name.replaceAll(/[^\x20-\x7e]|["%;]/g, '_');
  if (ascii === name) return `${type}; filename="${name}"`;
  const whole = encodeURIComponent(name).replaceAll(
    /['()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  );
  return `${type}; filename="${ascii}"; filename*=UTF-8''${whole}`;
}
