import com.icegreen.greenmail.configuration.GreenMailConfiguration;
import com.icegreen.greenmail.util.GreenMail;
import com.icegreen.greenmail.util.ServerSetup;

/**
 * GreenMail on four ports of this machine, with two users: SMTP and IMAP, without TLS and with it
 * from the first byte on.
 */
public class MailServer {
  public static void main(String[] args) {
    ServerSetup[] setups = {
      setup(args[0], ServerSetup.PROTOCOL_SMTP),
      setup(args[1], ServerSetup.PROTOCOL_IMAP),
      setup(args[2], ServerSetup.PROTOCOL_SMTPS),
      setup(args[3], ServerSetup.PROTOCOL_IMAPS),
    };
    GreenMailConfiguration users = GreenMailConfiguration.aConfig();
    users.withUser("records@direct.ours.example", "exchange", "of the exchange");
    users.withUser("dr.jones@direct.clinic.example", "jones", "of the doctor");
    GreenMail mail = new GreenMail(setups).withConfiguration(users);
    mail.start();
    System.out.println("READY");
  }

  private static ServerSetup setup(String port, String protocol) {
    ServerSetup setup = new ServerSetup(Integer.parseInt(port), "127.0.0.1", protocol);
    // TLS takes a busy machine longer than the 2 s of GreenMail.
    setup.setServerStartupTimeout(60_000);
    return setup;
  }
}
