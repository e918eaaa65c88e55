import com.icegreen.greenmail.configuration.GreenMailConfiguration;
import com.icegreen.greenmail.util.GreenMail;
import com.icegreen.greenmail.util.ServerSetup;

/** GreenMail on two ports of this machine, with two users. */
public class MailServer {
  public static void main(String[] args) {
    ServerSetup[] setups = {
      new ServerSetup(Integer.parseInt(args[0]), "127.0.0.1", ServerSetup.PROTOCOL_SMTP),
      new ServerSetup(Integer.parseInt(args[1]), "127.0.0.1", ServerSetup.PROTOCOL_IMAP),
    };
    GreenMailConfiguration users = GreenMailConfiguration.aConfig();
    users.withUser("records@direct.ours.example", "exchange", "of the exchange");
    users.withUser("dr.jones@direct.clinic.example", "jones", "of the doctor");
    GreenMail mail = new GreenMail(setups).withConfiguration(users);
    mail.start();
    System.out.println("READY");
  }
}
