/** The file name extension for a content type. */
export function extensionOf(contentType: string): string {
  if (contentType.includes('ndjson')) return 'ndjson';
  if (contentType.includes('json')) return 'json';
  if (contentType.includes('xml')) return 'xml';
  if (contentType.includes('pdf')) return 'pdf';
  if (contentType.startsWith('text/html')) return 'html';
  return contentType.startsWith('text/') ? 'txt' : 'bin';
}
