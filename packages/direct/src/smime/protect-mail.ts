import { randomBytes, type X509Certificate } from 'node:crypto';
import { encryptContent } from './cms-encrypt.ts';
import { signContent } from './cms-sign.ts';
import type { DirectIdentity } from './identity.ts';

/** What everybody may see of a message that is protected. */
export interface OuterHeaders {
  messageId: string;
  from: string;
  to: readonly string[];
  sentAt: Date;
}

/**
 * Signs a message, then encrypts it for its recipients (Direct 1.3, 2.1). The
 * message goes as a whole into what is encrypted, so that its subject is not
 * seen on the way.
 */
export async function protectMail(
  mail: Uint8Array,
  sender: DirectIdentity,
  recipients: readonly X509Certificate[],
  outer: OuterHeaders,
): Promise<Buffer> {
  const wrapped = Buffer.concat([
    Buffer.from('Content-Type: message/rfc822\r\n\r\n'),
    mail,
  ]);
  const signed = await multipartSigned(wrapped, sender, outer.sentAt);
  const encrypted = encryptContent(signed, recipients);

  return Buffer.from(`${outerHeaders(outer)}\r\n${base64Lines(encrypted)}`);
}

async function multipartSigned(
  part: Buffer,
  sender: DirectIdentity,
  signedAt: Date,
): Promise<Buffer> {
  const signature = await signContent(part, sender, signedAt);
  const boundary = `signed-${randomBytes(16).toString('hex')}`;

  return Buffer.concat([
    Buffer.from(
      `Content-Type: multipart/signed; protocol="application/pkcs7-signature";\r\n micalg=sha-256; boundary="${boundary}"\r\n\r\n--${boundary}\r\n`,
    ),
    part,
    Buffer.from(
      `\r\n--${boundary}\r\nContent-Type: application/pkcs7-signature; name=smime.p7s\r\nContent-Transfer-Encoding: base64\r\nContent-Disposition: attachment; filename=smime.p7s\r\n\r\n${base64Lines(signature)}\r\n--${boundary}--\r\n`,
    ),
  ]);
}

function outerHeaders({ messageId, from, to, sentAt }: OuterHeaders): string {
  const headers = {
    From: from,
    To: to.join(',\r\n '),
    Date: sentAt.toUTCString().replace('GMT', '+0000'),
    'Message-ID': `<${messageId}>`,
    Subject: 'Encrypted message',
    'MIME-Version': '1.0',
    'Content-Type':
      'application/pkcs7-mime; smime-type=enveloped-data; name=smime.p7m',
    'Content-Transfer-Encoding': 'base64',
    'Content-Disposition': 'attachment; filename=smime.p7m',
  };

  return Object.entries(headers)
    .map(([name, value]) => `${name}: ${value}\r\n`)
    .join('');
}

const base64Lines = (bytes: Buffer): string =>
  bytes.toString('base64').replaceAll(/.{76}(?=.)/g, '$&\r\n');
