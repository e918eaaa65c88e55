/** A part of a message beside its XML: most often a document. */
export interface MessageAttachment<Stored = Buffer> {
  /** Without brackets. */
  contentId: string | undefined;
  /** As the sender wrote it. */
  contentType: string | undefined;
  length: number;
  /** False when the message ended within the attachment, or right after it. */
  isComplete: boolean;
  /** What the store made of its bytes. */
  stored: Stored;
}

/** Takes the bytes of one attachment as they arrive. */
export interface AttachmentSink<Stored> {
  write(bytes: Buffer): void | Promise<void>;
  /** Called once after the last byte, unless reading fails before. */
  close(isComplete: boolean): Stored | Promise<Stored>;
}

/**
 * Where attachments go while a message is being read, so that none of them has
 * to be held in memory. When reading fails, open sinks are not closed: whoever
 * wrote the store clears up.
 */
export type AttachmentStore<Stored> = (part: {
  contentId: string | undefined;
  contentType: string | undefined;
}) => AttachmentSink<Stored>;

/** Keeps attachments in memory. */
export const attachmentsInMemory: AttachmentStore<Buffer> = () => {
  const chunks: Buffer[] = [];
  return {
    write: (bytes) => {
      chunks.push(bytes);
    },
    close: () => Buffer.concat(chunks),
  };
};
