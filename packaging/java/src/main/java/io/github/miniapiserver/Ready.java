package io.github.miniapiserver;

import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** The line of JSON that a server prints when it is ready: an object of texts and a number. */
final class Ready {
  private static final Pattern ESCAPE = Pattern.compile("\\\\(u([0-9a-fA-F]{4})|.)");

  private final String line;

  Ready(String line) {
    this.line = line;
  }

  /** Returns a text, or null if there is none of that name. */
  String text(String name) {
    Matcher m = Pattern.compile("\"" + name + "\":\"((?:[^\"\\\\]|\\\\.)*)\"").matcher(line);
    return m.find() ? ESCAPE.matcher(m.group(1)).replaceAll(e -> Matcher.quoteReplacement(unescape(e.group(1), e.group(2)))) : null;
  }

  private static String unescape(String escape, String hex) {
    if (hex != null) {
      return String.valueOf((char) Integer.parseInt(hex, 16));
    }
    switch (escape) {
      case "n": return "\n";
      case "r": return "\r";
      case "t": return "\t";
      case "b": return "\b";
      case "f": return "\f";
      default: return escape;
    }
  }
}
